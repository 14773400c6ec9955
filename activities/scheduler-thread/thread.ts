// Entry of the solver's thread, which SolverThread starts.
import { flushCompileCache } from 'node:module'
import { serveThread } from './serve.ts'

// A process that is killed would keep nothing of what was compiled for the next one.
flushCompileCache()
serveThread()
