// The thread of the conversion webhook: an event loop and a heap of its own, so that whatever reaches its port holds up nothing else of the process.
import { parentPort, workerData } from 'node:worker_threads'
import type { FromWebhook, ThreadInput, ToWebhook } from './messages.ts'
import { type Refusal, startConversionWebhook } from './webhook.ts'

const reportMs = 1000

const { port: listenAt, serving, limits } = workerData as ThreadInput
const port = parentPort
if (port === null) throw new Error('this file is the thread of the conversion webhook; it is started by WebhookThread')

let answered = 0
let failure: string | undefined
const refused = new Map<Refusal, number>()

const webhook = await startConversionWebhook(
  { port: listenAt, serving, limits },
  {
    answered(why) {
      answered += 1
      failure = why ?? failure
    },
    refused: (why) => refused.set(why, (refused.get(why) ?? 0) + 1),
  },
)
port.on('message', ({ serving: next }: ToWebhook) => webhook.use(next))
port.postMessage({ kind: 'listening', port: webhook.port } satisfies FromWebhook)

setInterval(() => {
  if (answered === 0 && refused.size === 0) return
  const since = { answered, refused: [...refused], ...(failure === undefined ? {} : { failure }) }
  port.postMessage({ kind: 'requests', ...since } satisfies FromWebhook)
  answered = 0
  failure = undefined
  refused.clear()
}, reportMs)
