import { createServer, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { connectWith } from './connect.ts'

const closing: (() => unknown)[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const close of closing.splice(0)) close()
})

/** Listens on a free port; its connections end with the test. */
async function listening(server: Server): Promise<string> {
  const sockets: Socket[] = []
  server.on('connection', (socket) => void sockets.push(socket.on('error', () => {})))
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server of gRPC that answers each call so. */
function answering(answer: (stream: ServerHttp2Stream) => void): Server {
  return createServer().on('stream', (stream) => answer(stream.on('error', () => {})))
}

const headers = { ':status': 200, 'content-type': 'application/grpc' }

test.each<[string, () => Server]>([
  ['accepts and says nothing', () => createTcp()],
  ['sends no headers', () => answering(() => {})],
  ['sends headers and then nothing', () => answering((stream) => stream.respond(headers))],
  [
    'sends a byte now and then',
    () =>
      answering((stream) => {
        stream.respond(headers)
        const dripping = setInterval(() => stream.write('\0'), 5)
        stream.once('close', () => clearInterval(dripping))
      }),
  ],
  [
    'sends a message without an end',
    () =>
      answering((stream) => {
        stream.respond(headers)
        stream.write(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]))
        const piece = Buffer.alloc(2 ** 16)
        const go = () => {
          while (!stream.destroyed) if (!stream.write(piece)) return void stream.once('drain', go)
        }
        go()
      }),
  ],
])('a server that %s is given up', async (_, serve) => {
  const address = await listening(serve())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  const tried = { outcome: 'waits' }
  void connectWith({ address, tls: false, metadata: {} }).then(
    () => {
      tried.outcome = 'connected'
    },
    () => {
      tried.outcome = 'given up'
    },
  )
  // Bytes travel in real time, and no limit counts from before the connection is there.
  while (tried.outcome === 'waits') {
    await vi.advanceTimersByTimeAsync(50)
    await new Promise((turn) => setImmediate(turn))
  }
  expect(tried.outcome).toBe('given up')
})
