// A foreign client of the webhook's port, in a process of its own: it does all that it can at once until it is ended, and prints what it did.
// node test/webhook-flood/client.ts PORT SOURCE-ADDRESS [PATH]; with the path it is one that only the API server should know.
import { Agent, request } from 'node:https'
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

const [portText = '', localAddress = '127.0.0.1', known] = process.argv.slice(2)
const port = Number(portText)
const counts: Record<string, number> = {}
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1
}

const mebi = 1024 * 1024
/** What ended the process once: 63 MB of `{},`. */
const objects = Buffer.from('{},'.repeat(21 * mebi))
const review = (inner: string) =>
  Buffer.from(
    `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"karpenter.sh/v1","objects":[${inner}]}}`,
  )
/** Within all limits, and as expensive as can be. */
const expensive = review(Array(600_000).fill('{}').join(','))
const deep = review(`${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`)

/** So many connections that say nothing have to be closed, for the flood to be one. */
const idleEnough = 100

/** What was begun and has no outcome yet. */
const untried = new Set<string>()

/** One request after the other, as fast as they are answered. */
async function repeat(what: string, body: Buffer, path: string, agent?: Agent): Promise<never> {
  untried.add(what)
  for (;;) {
    const outcome = await post(body, path, agent)
    count(`${what}: ${outcome}`)
    untried.delete(what)
    if (typeof outcome === 'string') await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function post(body: Buffer, path: string, agent?: Agent): Promise<number | string> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, method: 'POST', rejectUnauthorized: false, localAddress }
    const headers = { 'content-length': body.length }
    const sent = request({ ...options, headers, agent: agent ?? false }, (response) => {
      response.resume()
      response.once('close', () => resolve(response.statusCode ?? 0))
    })
    sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'))
    sent.setTimeout(20_000, () => sent.destroy())
    sent.end(body)
  })
}

const idleClosed = 'idle connections closed'

/** Keeps so many connections open that never say anything. */
function hold(connections: number, open: () => Socket): void {
  for (let at = 0; at < connections; at++) {
    const again = () => {
      const socket = open()
      socket.on('error', () => {})
      socket.once('close', () => {
        count(idleClosed)
        setTimeout(again, 50)
      })
    }
    again()
  }
}

function slow(text: string): TLSSocket {
  const socket: TLSSocket = connectTls(
    { host: '127.0.0.1', port, rejectUnauthorized: false, localAddress } as never,
    () => {
      socket.write(text)
      const timer = setInterval(() => socket.write('x'), 500)
      socket.once('close', () => clearInterval(timer))
    },
  )
  return socket
}

const agent = new Agent({ keepAlive: true, localAddress })
for (const path of ['/', '/convert', '/convert/0123456789abcdef0123456789abcdef'])
  void repeat(`63 MB to a wrong path`, objects, path)
for (let at = 0; at < 4; at++) void repeat('a wrong path', Buffer.from('{}'), '/convert/x', at % 2 ? agent : undefined)
hold(400, () => connect({ host: '127.0.0.1', port, localAddress }))
hold(50, () => slow('POST /convert/x HTTP/1.1\r\nhost: x\r\nx-slow: '))
if (known !== undefined) {
  void repeat('63 MB to the right path', objects, known)
  for (let at = 0; at < 4; at++) void repeat('600,000 objects', expensive, known)
  void repeat('200,000 levels', deep, known)
  hold(50, () => slow(`POST ${known} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n`))
}

/** Prints what was done, once all has been done: on a busy machine the slowest request takes longer than the flood was to last. */
function end(latestMs: number): void {
  const isDone = untried.size === 0 && (counts[idleClosed] ?? 0) > idleEnough
  if (!isDone && Date.now() < latestMs) setTimeout(() => end(latestMs), 50)
  else process.stdout.write(JSON.stringify(counts), () => process.exit(0))
}

process.once('SIGTERM', () => end(Date.now() + 30_000))
