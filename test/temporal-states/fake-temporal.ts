import { Client } from '@temporalio/client'
import pino from 'pino'
import { bootstrap } from '../../starter/bridge/bootstrap.ts'
import { TemporalConnection } from '../fast/temporal/temporal-connection.ts'
import { TemporalServer } from '../fast/temporal/temporal-server.ts'
import type { Clock } from '../fast/virtual-clock.ts'

/** The test's own time, which it may fake. */
const clock: Clock = {
  now: () => Date.now(),
  at: (epochMs, what) => {
    const timer = setTimeout(what, Math.max(0, epochMs - Date.now()))
    return () => clearTimeout(timer)
  },
}

/** Temporal in memory without any worker: runs stay as they were started. `lagMs`: how far its lists are behind. */
export function fakeTemporal(lagMs = 0) {
  const server = new TemporalServer(clock)
  /** What it has beside runs, and what is wrong with it. */
  const state = new TemporalConnection(server, { clock, lagMs, random: () => 0.5 })
  const { connection } = state
  const client = new Client({ connection })
  return {
    client,
    connection,
    server,
    state,
    /** Makes what Joiner makes once for a cluster. */
    bootstrap: async (cluster: string) => {
      const log = pino({ level: 'silent' })
      const made = { reported: new Set<string>(), known: {}, onAttributes: () => {} }
      const own = { cluster, clusterUid: 'uid', namespace: 'default', isBundled: false }
      await bootstrap({ client, plainClient: client, connection, log, ...own, ...made })
    },
    /** Ids of the workflows that run. */
    running: () => server.runs.filter(({ isRunning }) => isRunning).map(({ workflowId }) => workflowId),
    terminate: (workflowId: string) => client.workflow.getHandle(workflowId).terminate('by a test'),
    leave: (ms: number) => server.leave(ms),
    /** Loses all that it had. */
    forget: () => {
      server.forget()
      state.forget()
    },
  }
}
