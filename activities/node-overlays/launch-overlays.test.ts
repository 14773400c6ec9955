import { expect, test } from 'vitest'
import { annotations } from '../../core/requirements/labels.ts'
import { inValues, plant, tagsOf, world } from '../../test/fakes/launch-world.ts'
import { poolJson } from '../../test/fakes/objects.ts'
import { useFakeTime } from '../../test/fakes/time.ts'
import type { Json } from '../kubernetes/client/answers.ts'

useFakeTime()

const size = 'Standard_D8s_v5'
const overlay = (spec: Json): Json => ({
  metadata: { name: 'o', uid: 'uid-o', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { requirements: [inValues('node.kubernetes.io/instance-type', size)], ...spec },
})

function overlaid(spec: Json | undefined) {
  const known = world()
  known.cluster.put('nodepools', poolJson('default'))
  if (spec !== undefined) known.cluster.put('nodeoverlays', overlay(spec))
  return known
}

const priceOf = ({ cluster }: ReturnType<typeof world>) =>
  cluster.object('nodeclaims', 'a')?.metadata.annotations?.[annotations.pricePerHour]

test('the price of an overlay is what a launch records, for history and cost', async () => {
  const known = overlaid({ price: '0.000012' })
  expect(await known.launch()).toMatchObject({ kind: 'launched', instanceType: size, pricePerHour: 0.000012 })
  expect(priceOf(known)).toBe('0.000012')
})

test('a price that an overlay adjusts has no more digits than the annotation keeps', async () => {
  const known = overlaid({ priceAdjustment: '-99.123456789%' })
  expect(await known.launch()).toMatchObject({ kind: 'launched', instanceType: size })
  expect(priceOf(known)).toMatch(/^~?\d+\.\d{1,12}$/)
})

test('a VM that a launch finds has the price and resources of the overlay too', async () => {
  const [listed, known] = [overlaid(undefined), overlaid({ price: '0.5', capacity: { 'smarter-devices/fuse': '1' } })]
  for (const { azure, launch } of [listed, known]) {
    plant(azure, tagsOf('uid-a'))
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: size })
    expect(azure.writes).toEqual([])
  }
  expect(priceOf(listed)).not.toBe('0.5')
  expect(priceOf(known)).toBe('0.5')
  expect(known.cluster.object('nodeclaims', 'a')?.status['capacity']).toMatchObject({ 'smarter-devices/fuse': '1' })
})
