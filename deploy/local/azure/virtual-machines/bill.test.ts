import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sizes } from '../catalogue/catalogue.ts'
import type { VmSize } from '../catalogue/sku-catalogue.ts'
import { Journal } from '../server/journal.ts'
import { Bill } from './bill.ts'
import type { Machine, MachineBody } from './machine.ts'
import { Machines } from './machines.ts'

let folder: string
let now: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'joiner-bill-'))
  now = Date.now() + 60_000
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function start() {
  const journal = new Journal(join(folder, 'state.jsonl'))
  const machines = new Machines(journal)
  const priceOf = (size: string, isSpot: boolean) => (isSpot ? 0.1 : sizes.get(size)?.price)
  return { machines, bill: new Bill({ journal, machines, priceOf, now: () => now }) }
}

const d2 = 'Standard_D2s_v5'

function draft(machines: Machines, name: string, more: Partial<MachineBody['properties']> = {}): Machine {
  const body: MachineBody = {
    location: 'westus2',
    zones: ['2'],
    tags: { pool: 'general' },
    properties: { hardwareProfile: { vmSize: d2 }, ...more },
  }
  return machines.draft({ name, body, size: { name: d2 } as VmSize, addresses: [] })
}

test('a VM costs from its PUT until its deletion is accepted, and its row stays', () => {
  const { machines, bill } = start()
  const machine = draft(machines, 'a')
  machines.add(machine)
  const open = { name: 'a', size: d2, zone: '2', capacityType: 'on-demand', pricePerHour: 0.096 }
  expect(bill.rows).toEqual([
    { ...open, vmId: machine.vmId, tags: { pool: 'general' }, fromMs: Date.parse(machine.timeCreated) },
  ])
  machine.state = 'Deleting'
  machines.save(machine)
  const deletedMs = now
  now += 60_000
  machines.remove(machine, [])
  expect(bill.rows).toMatchObject([{ ...open, toMs: deletedMs }])
})

test('a deallocated spot VM costs no more, a VM that could not be made costs nothing until it is tried again', () => {
  const { machines, bill } = start()
  const spot = draft(machines, 'spot', { priority: 'Spot' })
  const failed = draft(machines, 'failed')
  for (const machine of [spot, failed]) machines.add(machine)
  spot.power = 'deallocated'
  failed.state = 'Failed'
  for (const machine of [spot, failed]) machines.save(machine)
  const [ofSpot, ofFailed] = bill.rows
  expect(ofSpot).toMatchObject({ pricePerHour: 0.1, toMs: now })
  expect(ofFailed?.toMs).toBe(ofFailed?.fromMs)
  failed.state = 'Creating'
  machines.save(failed)
  expect(bill.rows[1]).toMatchObject({ fromMs: now })
  expect(bill.rows[1]?.toMs).toBeUndefined()
})

test('a restart loses no row, and ends one whose VM went while nobody wrote it', () => {
  const first = start()
  const [stays, went] = ['stays', 'went'].map((name) => draft(first.machines, name)) as [Machine, Machine]
  for (const machine of [stays, went]) first.machines.add(machine)
  const rows = [...first.bill.rows]
  // Removed from the table of VMs alone, as by a process that is killed right after.
  new Machines(new Journal(join(folder, 'state.jsonl'))).remove(went, [])
  const again = start()
  expect(again.bill.rows).toEqual([rows[0], { ...rows[1], toMs: now }])
})
