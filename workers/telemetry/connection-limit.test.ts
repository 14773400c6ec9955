import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ConnectionLimit } from './connection-limit.ts'

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string
  destroyed = false

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  destroy(): this {
    this.destroyed = true
    this.emit('close')
    return this
  }
}

describe('the limit of connections', () => {
  it('closes the oldest of the address with the most', () => {
    const limit = new ConnectionLimit(4)
    const opened = ['api', 'x', 'x', 'y', 'x', 'x'].map((address) => {
      const socket = new FakeSocket(address)
      return [limit.add(socket as never), socket] as const
    })
    expect(opened.map(([closed]) => closed)).toEqual([false, false, false, false, true, true])
    expect(opened.map(([, { destroyed }]) => destroyed)).toEqual([false, true, true, false, false, false])
  })

  it('counts a connection no longer that has closed', () => {
    const limit = new ConnectionLimit(2)
    for (let round = 0; round < 10; round++) {
      const sockets = [new FakeSocket('a'), new FakeSocket('b')]
      for (const socket of sockets) expect(limit.add(socket as never)).toBe(false)
      for (const socket of sockets) socket.destroy()
    }
  })
})
