import { resolveBinaries, serverNames } from '../../deploy/local/server-binaries.ts'

/** Finds or builds the servers once, before the suites that start them. */
export default async function setup(): Promise<void> {
  await resolveBinaries(serverNames, (line) => console.log(line))
}
