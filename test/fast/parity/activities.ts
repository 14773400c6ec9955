import { ApplicationFailure, Context } from '@temporalio/activity'

export interface Waiting {
  /** Waits in the time of the world that the activity runs in. */
  readonly sleep: (ms: number) => Promise<void>
}

/** Activities that fail, hang, heartbeat and obey as the table asks. */
export function parityActivities({ sleep }: Waiting) {
  const attempt = () => Context.current().info.attempt
  return {
    echo: async (text: string) => `${text} at attempt ${attempt()}`,
    fail: async (text: string) => {
      throw new Error(`${text} at attempt ${attempt()}`)
    },
    /** Fails until an attempt. */
    failUntil: async (last: number) => {
      if (attempt() < last) throw new Error(`attempt ${attempt()}`)
      return `done at attempt ${attempt()}`
    },
    failWithType: async (type: string) => {
      throw ApplicationFailure.create({ type, message: `a ${type} at attempt ${attempt()}` })
    },
    failForGood: async () => {
      throw ApplicationFailure.nonRetryable('for good')
    },
    /** Asks for its next attempt after a time of its own. */
    failWithDelay: async (ms: number) => {
      if (attempt() > 1) return `done at attempt ${attempt()}`
      throw ApplicationFailure.create({ message: 'later', nextRetryDelay: ms })
    },
    hang: async () => {
      await sleep(15_000)
      return 'hung'
    },
    /** Hangs in its first attempt only. */
    hangOnce: async () => {
      if (attempt() === 1) await sleep(15_000)
      return `done at attempt ${attempt()}`
    },
    /** Reports its progress, stops in its first attempt, and returns what the second attempt knew of it. */
    heartbeatOnce: async () => {
      const { info } = Context.current()
      if (info.attempt > 1) return `attempt ${info.attempt} knows ${JSON.stringify(info.heartbeatDetails)}`
      Context.current().heartbeat({ done: 3 })
      await sleep(15_000)
      return 'hung'
    },
    /** Heartbeats twice at once, of which the second has to wait, and fails. Returns what the second attempt knew of it. */
    heartbeatTwice: async () => {
      const { info } = Context.current()
      if (info.attempt > 1) return `attempt ${info.attempt} knows ${JSON.stringify(info.heartbeatDetails)}`
      Context.current().heartbeat({ done: 1 })
      await sleep(200)
      Context.current().heartbeat({ done: 2 })
      await sleep(200)
      throw new Error('after two heartbeats')
    },
    /** The same, but hangs. */
    heartbeatTwiceAndHang: async () => {
      const { info } = Context.current()
      if (info.attempt > 1) return `attempt ${info.attempt} knows ${JSON.stringify(info.heartbeatDetails)}`
      Context.current().heartbeat({ done: 1 })
      await sleep(200)
      Context.current().heartbeat({ done: 2 })
      await sleep(15_000)
      return 'hung'
    },
    nap: async (ms: number) => {
      await sleep(ms)
      return 'rested'
    },
    /** Heartbeats until it is cancelled, and takes some time to end. */
    obey: async () => {
      const context = Context.current()
      for (;;) {
        context.heartbeat()
        try {
          await Promise.race([sleep(100), context.cancelled])
        } catch (error) {
          await sleep(300)
          throw error
        }
      }
    },
    /** Heartbeats, and ends by itself whatever it is asked. */
    ignore: async () => {
      for (let beat = 0; beat < 50; beat++) {
        Context.current().heartbeat()
        await sleep(100)
      }
      return 'ended by itself'
    },
  }
}

export type Activities = ReturnType<typeof parityActivities>
