import { randomInt } from 'node:crypto'
import getPort from 'get-port'

/** Below the range that the system gives to outgoing connections, which could take a port between the look and its use. */
const portRange = { from: 20_000, to: 32_000 } as const
/** Random, so that clusters that start at the same time look at different ports. */
const mostTries = 1000

/** Returns ports of 127.0.0.1 on which nothing listens, all different. Errors: there are not as many. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const tries = Array.from({ length: mostTries }, () => randomInt(portRange.from, portRange.to))
    const port = await getPort({ host: '127.0.0.1', port: tries, exclude: ports })
    // Where none of them is free, the library takes any port.
    if (port < portRange.from || port >= portRange.to)
      throw new Error(`no ${count} free ports between ${portRange.from} and ${portRange.to}; end some local clusters`)
    ports.push(port)
  }
  return ports
}
