import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Dial, TemporalRelay } from './temporal-relay.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A server that sends back what it gets. */
async function echo(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => {}).pipe(socket))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Asks the relay for a connection. Returns its answer, the connection, and what came with the answer. */
async function through(relay: TemporalRelay, to: string, password = relay.proxy.basicAuth?.password) {
  const [host, port] = relay.proxy.targetHost.split(':')
  const credentials = Buffer.from(`joiner:${password}`).toString('base64')
  const headers = { 'proxy-authorization': `Basic ${credentials}` }
  const asked = request({ host, port, method: 'CONNECT', path: to, agent: false, headers }).end()
  const [response, socket, head] = (await once(asked, 'connect')) as [{ statusCode: number }, Socket, Buffer]
  return { status: response.statusCode, socket, head: head.toString() }
}

const said = async (socket: Socket, text: string) => {
  socket.write(text)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return answer.toString()
}

test('what is sent arrives, and its answer', async () => {
  const relay = await TemporalRelay.open()
  const { status, socket } = await through(relay, await echo())
  expect(status).toBe(200)
  expect(await said(socket, 'a')).toBe('a')
  socket.destroy()
  relay.retire()
})

test('a client without the password of this process gets no connection', async () => {
  const dialled: string[] = []
  const dial: Dial = (address) => {
    dialled.push(address)
    return new Socket()
  }
  const relay = await TemporalRelay.open(dial)
  for (const password of ['', 'x', relay.proxy.basicAuth?.password.replace(/^./, 'x')])
    expect((await through(relay, '127.0.0.1:1', password)).status).toBe(407)
  expect(dialled).toEqual([])
  relay.retire()
})

test('a server that does not answer the dial is given up, and one that refuses it', async () => {
  const silent = await TemporalRelay.open(() => new Socket(), 20)
  await expect(through(silent, '127.0.0.1:1')).rejects.toThrow('socket hang up')
  silent.retire()
  const refusing = await TemporalRelay.open()
  await expect(through(refusing, '127.0.0.1:1')).rejects.toThrow('socket hang up')
  refusing.retire()
})

test('a cut ends what is open and nothing that is opened after it', async () => {
  const relay = await TemporalRelay.open()
  const address = await echo()
  const before = await through(relay, address)
  relay.cut()
  await once(before.socket, 'close')
  const after = await through(relay, address)
  expect(await said(after.socket, 'b')).toBe('b')
  after.socket.destroy()
  relay.retire()
})

test('one that is retired accepts no more and keeps what is open', async () => {
  const relay = await TemporalRelay.open()
  const { socket } = await through(relay, await echo())
  const [host = '', port] = relay.proxy.targetHost.split(':')
  relay.retire()
  expect(await said(socket, 'c')).toBe('c')
  const refused = connect(Number(port), host)
  const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNREFUSED')
  socket.destroy()
})

test('a server that ends ends its client', async () => {
  const server = createServer((socket) => socket.end('bye'))
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const relay = await TemporalRelay.open()
  const { socket, head } = await through(relay, `127.0.0.1:${(server.address() as AddressInfo).port}`)
  let text = head
  socket.on('data', (data: Buffer) => {
    text += data.toString()
  })
  await once(socket, 'end')
  expect(text).toBe('bye')
  relay.retire()
})
