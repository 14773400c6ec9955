import { describe, expect, it } from 'vitest'
import { canonicalIp } from '../values/ip.ts'
import { hostPortConflict, hostPorts } from './host-ports.ts'

describe('canonicalIp', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:102:304', '1.2.3.4'],
    ['::', '::'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['FE80::0001', 'fe80::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
    ['1.2.3', undefined],
    ['1.2.3.256', undefined],
    ['01.2.3.4', undefined],
    ['1::2::3', undefined],
    ['1:2:3:4:5:6:7::8', undefined],
    ['1:2:3:4:5:6:7', undefined],
    ['1.2.3.4::', undefined],
    ['fe80::1%eth0', undefined],
    [':1', undefined],
    ['', undefined],
  ])('%s is %s', (text, expected) => {
    expect(canonicalIp(text)).toBe(expected)
  })
})

describe('hostPortConflict', () => {
  const port = (hostIP?: string, protocol = 'TCP') => ({ hostPort: 80, protocol, ...(hostIP ? { hostIP } : {}) })

  it.each([
    [port(), port('1.2.3.4'), true],
    [port('::'), port('1.2.3.4'), true],
    [port('1.2.3.4'), port('::ffff:1.2.3.4'), true],
    [port('1.2.3.4'), port('1.2.3.5'), false],
    [port(), port(undefined, 'UDP'), false],
    [port(), { ...port(), hostPort: 81 }, false],
    [port(), { containerPort: 80 }, false],
  ])('%j against %j: %s', (used, added, expected) => {
    expect(hostPortConflict([used], [added]) !== undefined).toBe(expected)
    expect(hostPortConflict([added], [used]) !== undefined).toBe(expected)
  })

  it('leaves out ports that are not host ports', () => {
    expect(hostPorts([{ containerPort: 80 }, { hostPort: 0 }])).toEqual([])
  })
})
