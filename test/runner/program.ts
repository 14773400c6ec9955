import { buildProgram } from '../../deploy/build-program.ts'

/**
 * Returns the program as it is shipped, for suites that start it: a process of it takes two thirds of the processor time of one from the sources. It is
 * bundled unless it is there, built from these very sources, so a suite that runs by itself has the newest as well.
 */
export function builtProgram(): Promise<string> {
  return buildProgram({ withWorkflows: false })
}
