import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { connectToPeer, HeldConnection } from './peers.ts'

const served = `
const server = require('node:net').createServer((socket) => { socket.on('error', () => {}).resume(); process.stdout.write('connected\\n') })
server.listen(Number(process.argv[1]), '127.0.0.1', () => process.stdout.write(server.address().port + '\\n'))`

/** A process that listens. */
async function listening(port = 0) {
  const child = spawn(process.execPath, ['-e', served, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { value } = await lines.next()
  return {
    child,
    address: `127.0.0.1:${value}`,
    accepted: () => lines.next(),
    kill: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

test('a process that is killed is gone, and one that stands still or started in its place is not', async () => {
  const held = new HeldConnection(connectToPeer)
  const first = await listening()
  expect(await held.isGone(first.address)).toBe(false)
  await first.accepted()
  first.child.kill('SIGSTOP')
  expect(await held.isGone(first.address)).toBe(false)
  expect(await new HeldConnection(connectToPeer).isGone(first.address)).toBe(false)
  await first.kill()
  await expect.poll(() => held.isGone(first.address)).toBe(true)
  const second = await listening(Number(first.address.split(':')[1]))
  expect(await held.isGone(second.address)).toBe(false)
  await second.accepted()
  await second.kill()
  await expect.poll(() => held.isGone(second.address)).toBe(true)
  // Whoever was never there is not gone.
  expect(await new HeldConnection(connectToPeer).isGone(first.address)).toBe(false)
  expect(await held.isGone(undefined)).toBe(false)
})
