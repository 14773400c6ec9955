import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePorts } from './free-ports.ts'

function listen(port: number): Promise<() => Promise<void>> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      expect((server.address() as AddressInfo).port).toBe(port)
      resolve(() => new Promise((closed) => server.close(() => closed())))
    })
  })
}

test('free ports differ, also of callers at the same time, can be listened on, and are below those of connections', async () => {
  const ports = (await Promise.all([freePorts(8), freePorts(8), freePorts(1)])).flat()
  expect(new Set(ports).size).toBe(17)
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(20_000)
    expect(port).toBeLessThan(32_000)
    await (await listen(port))()
  }
})

test('processes that choose at the same time, and listen later, choose different ports', async () => {
  const module = JSON.stringify(fileURLToPath(new URL('free-ports.ts', import.meta.url)))
  const program = `import { freePorts } from ${module}; console.log((await freePorts(100)).join()); process.stdin.resume()`
  const choosing = Array.from({ length: 4 }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() }
  })
  const chosen = await Promise.all(choosing.map(({ lines }) => lines.next()))
  // Each process lives until all have chosen, as servers start later than their ports are chosen.
  const ends = choosing.map(({ child }) => once(child, 'close'))
  for (const { child } of choosing) child.stdin.end()
  expect(await Promise.all(ends)).toEqual(choosing.map(() => [0, null]))
  const ports = chosen.flatMap(({ value }) => String(value).split(','))
  expect(ports).toHaveLength(400)
  expect(new Set(ports).size).toBe(400)
})
