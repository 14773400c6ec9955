// The solver's thread; it is started by SolverThread.
import { flushCompileCache } from 'node:module'
import { serveSolver } from './serve.ts'

// A process that is killed would keep nothing of what was compiled for the one after it.
flushCompileCache()
serveSolver()
