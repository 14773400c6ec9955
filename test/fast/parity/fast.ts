import { Client } from '@temporalio/client'
import { SimulatedProcess } from '../simulated-process.ts'
import { simulatedWorker } from '../temporal/activity-runner.ts'
import { TemporalConnection } from '../temporal/temporal-connection.ts'
import { TemporalServer } from '../temporal/temporal-server.ts'
import { WorkflowHost } from '../temporal/workflow-host.ts'
import { settle, VirtualClock } from '../virtual-clock.ts'
import { parityActivities } from './activities.ts'
import { type Outcome, play } from './outcome.ts'
import type { Row } from './row.ts'

/** Plays a row on the simulated server, in virtual time. */
export async function playFast(code: string, row: Row): Promise<Outcome> {
  const clock = new VirtualClock(Date.parse('2030-01-01T00:00:00Z'))
  const sleep = (ms: number) => clock.sleep(ms)
  const activities = parityActivities({ sleep })
  const server = new TemporalServer(clock)
  const host = WorkflowHost.load(code, Object.keys(activities))
  const process = new SimulatedProcess('parity')
  server.addWorker(simulatedWorker({ process, host, queues: ['parity'], activities }))
  server.addWorker({ ...simulatedWorker({ process, host, queues: ['parity-narrow'], activities }), activitySlots: 1 })
  const { connection } = new TemporalConnection(server, { clock, random: () => 0.5 })
  const playing = play(row, {
    client: new Client({ connection }),
    sleep,
    atRest: async () => {},
    histories: async (workflowId) =>
      server.runs.filter((run) => run.workflowId === workflowId).map(({ history }) => history.events),
  })
  const progress = { isOver: false }
  const over = () => {
    progress.isOver = true
  }
  playing.then(over, over)
  for (let step = 0; !progress.isOver; step++) {
    await settle(3)
    if (step > 10_000) throw new Error(`${row.name} does not end`)
    if (!progress.isOver) clock.step()
  }
  return playing
}
