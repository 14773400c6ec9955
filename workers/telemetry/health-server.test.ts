import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type HealthServer, startHealthServer } from './health-server.ts'

const servers: HealthServer[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

/** A process whose scrape takes until it is let go, and has this many bytes. */
async function start(bytes = 10) {
  let computed = 0
  let atOnce = 0
  let mostAtOnce = 0
  let letGo: () => void = () => {}
  const gate = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const server = await startHealthServer(0, {
    notReady: () => [],
    async *metrics() {
      computed += 1
      atOnce += 1
      mostAtOnce = Math.max(mostAtOnce, atOnce)
      await gate
      yield `${computed}`
      for (let sent = 0; sent < bytes; sent += 65_536) yield 'x'.repeat(Math.min(65_536, bytes - sent))
      atOnce -= 1
    },
  })
  servers.push(server)
  const url = server.address.replace('0.0.0.0', '127.0.0.1')
  return { url, letGo, computed: () => computed, mostAtOnce: () => mostAtOnce }
}

const scrape = (url: string) =>
  fetch(`${url}/metrics`).then(async (answer) => [answer.status, await answer.text()] as const)

describe('/metrics', () => {
  it('is computed once for all who ask at a time, refuses more than it can hold, and health is reported all the while', async () => {
    const { url, letGo, computed, mostAtOnce } = await start()
    let refused = 0
    const asked = Array.from({ length: 20 }, async () => {
      const answer = await scrape(url)
      if (answer[0] === 503) refused += 1
      return answer.join(' ')
    })
    // By then the others wait for theirs.
    await expect.poll(() => refused, { timeout: 10_000 }).toBe(12)
    const health = await fetch(`${url}/healthz`)
    expect([health.status, await health.text()]).toEqual([200, 'ok'])
    letGo()
    const answers = await Promise.all(asked)
    expect(answers.filter((answer) => answer === '200 1xxxxxxxxxx')).toHaveLength(8)
    expect([refused, computed(), mostAtOnce()]).toEqual([12, 1, 1])
  })

  it('holds little for clients that do not read', async () => {
    const { url, letGo } = await start(200 * 1024 * 1024)
    letGo()
    const { hostname, port } = new URL(url)
    const before = process.memoryUsage.rss()
    const sockets = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const socket = connect({ host: hostname, port: Number(port), highWaterMark: 1024 } as never)
        await once(socket, 'connect')
        socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n')
        await once(socket, 'readable')
        return socket
      }),
    )
    await pause(500)
    expect((process.memoryUsage.rss() - before) / 1024 / 1024).toBeLessThan(150)
    for (const socket of sockets) socket.destroy()
  }, 20_000)

  it('fails a scrape whose metrics fail, and answers the next', async () => {
    let fails = true
    const server = await startHealthServer(0, {
      notReady: () => [],
      async *metrics() {
        yield 'a'
        if (fails) throw new Error('no')
      },
    })
    servers.push(server)
    const url = server.address.replace('0.0.0.0', '127.0.0.1')
    expect((await scrape(url))[0]).toBe(500)
    fails = false
    expect(await scrape(url)).toEqual([200, 'a'])
  })
})

it('answers the kubelet while somebody holds more connections than there are', async () => {
  const { url } = await start()
  const { port } = new URL(url)
  const sockets = Array.from({ length: 400 }, () =>
    connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {}),
  )
  await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(100)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  for (const socket of sockets) socket.destroy()
})

describe('a second port', () => {
  it('has the same answers, and closes with the first', async () => {
    const server = await startHealthServer(0, {
      notReady: () => ['temporal'],
      async *metrics() {
        yield 'one 1\n'
      },
      secondPort: 0,
    })
    const second = `http://127.0.0.1:${server.secondPort}`
    expect(server.address.endsWith(`:${server.secondPort}`)).toBe(false)
    expect(await scrape(second)).toEqual([200, 'one 1\n'])
    expect((await fetch(`${second}/readyz`)).status).toBe(503)
    await server.close()
    await expect(fetch(`${second}/healthz`)).rejects.toThrow()
  })

  it('that is taken is an error, and leaves nothing open', async () => {
    const checks = { notReady: () => [], async *metrics() {} }
    const first = await startHealthServer(0, checks)
    servers.push(first)
    const taken = Number(new URL(first.address).port)
    await expect(startHealthServer(0, { ...checks, secondPort: taken })).rejects.toThrow('EADDRINUSE')
  })
})
