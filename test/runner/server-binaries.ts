import { resolveBinaries } from '../../deploy/local/server-binaries.ts'
import { serverNames } from '../../deploy/local/server-versions.ts'

/** Finds or builds the servers once, before the suites that start them. */
export default async function setup(): Promise<void> {
  await resolveBinaries(serverNames, (line) => console.log(line))
}
