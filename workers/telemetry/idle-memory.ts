import { Session } from 'node:inspector/promises'
import type { Logger } from 'pino'

const lookEveryMs = 5000
/** The share of a core that a process may use and count as quiet: watches, heartbeats and polls take a few hundredths. */
const quietShare = 0.2
/** Less than this is not worth the look at every object. */
const worthMiB = 64
/** A thread that does not answer, since it ends or is busy, is not waited for. */
const patienceMs = 5000

/**
 * Gives memory back whenever the process has become quiet. V8 collects when it allocates, so what a burst of launches leaves behind would stay for as
 * long as nothing happens: more than a gigabyte after 5,000. Returns the function that ends it.
 */
export function giveBackWhenIdle(log: Logger): () => void {
  let cpu = process.cpuUsage()
  let lowestMiB = 0
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu)
    cpu = process.cpuUsage()
    const before = rssMiB()
    const isQuiet = (user + system) / 1000 < quietShare * lookEveryMs
    if (!isQuiet || before < lowestMiB + worthMiB) return
    collectAllThreads().then(
      () => {
        lowestMiB = rssMiB()
        log.debug({ beforeMiB: Math.round(before), afterMiB: Math.round(lowestMiB) }, 'returned memory to the system')
      },
      (error: unknown) => log.debug({ err: error }, 'failed to return memory to the system'),
    )
  }, lookEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

/**
 * Collects the garbage of every thread of this process, among them those of Temporal's workflows, which nobody else holds a handle of: the inspector
 * reaches them all. It takes some tenths of a second, in which the threads stand still one by one.
 */
export async function collectAllThreads(): Promise<void> {
  const session = new Session()
  session.connect()
  try {
    const answered = new Map<string, () => void>()
    const threads: string[] = []
    session.on('NodeWorker.attachedToWorker', ({ params }) => threads.push(params.sessionId))
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => answered.get(params.sessionId)?.())
    await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false })
    const message = JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' })
    const collected = threads.map(async (sessionId) => {
      const answer = new Promise<void>((resolve) => answered.set(sessionId, resolve))
      await session.post('NodeWorker.sendMessageToWorker', { sessionId, message })
      await answer
    })
    const late = new Promise((resolve) => setTimeout(resolve, patienceMs).unref())
    await Promise.race([Promise.allSettled(collected), late])
    await session.post('HeapProfiler.collectGarbage')
    await session.post('NodeWorker.disable')
  } finally {
    session.disconnect()
  }
}

function rssMiB(): number {
  return process.memoryUsage.rss() / 2 ** 20
}
