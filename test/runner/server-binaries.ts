import { buildProgram } from '../../deploy/build-program.ts'
import { resolveBinaries } from '../../deploy/local/server-binaries.ts'
import { serverNames } from '../../deploy/local/server-versions.ts'

/** Finds or builds the servers and the program once, before the suites that start them. */
export default async function setup(): Promise<void> {
  await buildProgram()
  await resolveBinaries(serverNames, (line) => console.log(line))
}
