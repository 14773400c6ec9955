import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from './world.ts'

const folder = fileURLToPath(new URL('./manifests/', import.meta.url))

describe('manifests as people have them, applied unchanged', () => {
  let world: World

  beforeAll(async () => {
    world = await World.start()
    world.startJoiner()
  })

  afterAll(() => world.stop())

  const machines = async () => {
    const nodes = await world.list('nodes')
    const shown = ['node.kubernetes.io/instance-type', 'karpenter.sh/nodepool', 'kubernetes.io/arch']
    return nodes.map(({ metadata }) => shown.map((label) => metadata.labels?.[label]).join()).toSorted()
  }

  // v1beta1 and v1alpha2 beside v1 and v1beta1 of today: they end up with the same machines.
  const files = ['karpenter-v1.yaml', 'aks-install-guide.yaml'] as const
  const made: Partial<Record<(typeof files)[number], unknown>> = {}

  test.each(files)('%s scales inflate to 5 and back', async (file) => {
    await world.until('it is applied', () => world.operator.kubectl(['apply', '-f', `${folder}${file}`]), 20_000)
    await world.untilReady('general-purpose')
    await world.scale('inflate', 5)
    await world.untilRunning(5)
    made[file] = await machines()
    expect(made[file]).not.toEqual([])
    await world.scale('inflate', 0)
    await world.untilNothingLeft(180_000)
    await world.operator.kubectl(['delete', '-f', `${folder}${file}`])
    await world.until('the AKSNodeClass is gone', async () => (await world.list('aksnodeclasses')).length === 0)
  })

  test('both make the same machines', () => {
    expect(made['aks-install-guide.yaml']).toEqual(made['karpenter-v1.yaml'])
  })
})
