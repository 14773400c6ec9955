import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import getPort from 'get-port'

const host = '127.0.0.1'

/** Below the range that the system gives to outgoing connections, which could take a port between the check and its use. */
const portRange = { from: 20_000, to: 32_000 } as const
/** Ports of one block. The first is listened on while the process runs, so that no other process takes a port of the block. */
const blockSize = 40
const blocks = (portRange.to - portRange.from) / blockSize

/** Ports of this process's block that it has not given out. */
let left: readonly number[] = []
let last: Promise<unknown> = Promise.resolve()

/**
 * Returns ports of 127.0.0.1 on which nothing listens, all different, and that no other caller of this function gets, in this process or another: a
 * server may start seconds after its port was chosen. Errors: all blocks are taken.
 */
export function freePorts(count: number): Promise<readonly number[]> {
  const ports = last.then(() => takePorts(count))
  last = ports.catch(() => {})
  return ports
}

async function takePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    // Where none of them is free, the library takes any port.
    const port = await getPort({ host, port: left })
    const at = left.indexOf(port)
    if (at >= 0) ports.push(port)
    left = at >= 0 ? left.slice(at + 1) : await takeBlock()
  }
  return ports
}

/** Returns the ports of a block that no process has. It stays with this process until that ends. */
async function takeBlock(): Promise<readonly number[]> {
  const first = randomInt(blocks)
  for (let at = 0; at < blocks; at++) {
    const lock = portRange.from + ((first + at) % blocks) * blockSize
    const server = await listen(lock)
    if (server === undefined) continue
    server.unref()
    return Array.from({ length: blockSize - 1 }, (_, index) => lock + 1 + index)
  }
  throw new Error(`no free ports between ${portRange.from} and ${portRange.to}; end some local clusters`)
}

/** Listens on a port. Returns undefined when another socket does. */
function listen(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined))
    server.listen({ port, host, exclusive: true }, () => resolve(server))
  })
}
