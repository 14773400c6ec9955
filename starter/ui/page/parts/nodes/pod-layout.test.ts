import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NodeView } from '../../../contract.ts'
import { placePods, podPaths, styleOf } from './pod-layout.ts'

type Pod = NodeView['pods'][number]

const nodeWith = (pods: readonly Pod[]): NodeView => ({
  key: 'a',
  phase: 'Ready',
  createdMs: 0,
  isReady: true,
  isCordoned: false,
  allocatable: { cpu: 4, memory: 16, pods: 110 },
  requested: { cpu: 0, memory: 0 },
  pods,
})

describe('placePods', () => {
  it('leaves free what is free: a pod of half the cores takes half of the box', () => {
    const [placed] = placePods(nodeWith([['a/b', 2, 1]]), 100, 40)
    expect(placed).toMatchObject({ x: 0, y: 0, width: 50, height: 40 })
  })

  it('keeps all pods within the box, without overlap, each with an area by its larger share', () => {
    const pod = fc.tuple(
      fc.constant('a/b'),
      fc.double({ min: 0, max: 3, noNaN: true }),
      fc.double({ min: 0, max: 9, noNaN: true }),
    )
    fc.assert(
      fc.property(fc.array(pod, { maxLength: 60 }), (pods) => {
        const placed = placePods(nodeWith(pods), 240, 64)
        expect(placed).toHaveLength(pods.length)
        const area = placed.reduce((sum, { width, height }) => sum + width * height, 0)
        const shares = pods.reduce((sum, [, cpu, memory]) => sum + Math.max(0.008, cpu / 4, memory / 16), 0)
        expect(area).toBeCloseTo(240 * 64 * Math.min(1, shares), 3)
        for (const { x, y, width, height } of placed) {
          expect(Math.min(x, y, width, height)).toBeGreaterThanOrEqual(-1e-6)
          expect(x + width).toBeLessThanOrEqual(240 + 1e-6)
          expect(y + height).toBeLessThanOrEqual(64 + 1e-6)
        }
        for (const [index, one] of placed.entries())
          for (const other of placed.slice(index + 1)) {
            const wide = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x)
            const high = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y)
            expect(Math.min(wide, high)).toBeLessThanOrEqual(1e-6)
          }
      }),
      { numRuns: 100 },
    )
  })

  it('draws no pod of a node without known capacity out of the box', () => {
    const node = { ...nodeWith([['a/b', 2, 1]]), allocatable: { cpu: 0, memory: 0, pods: 0 } }
    expect(placePods(node, 100, 40)).toHaveLength(1)
  })
})

it.each<[Pod, string]>([
  [['a/b', 1, 1], 'work'],
  [['a/b', 1, 1, 'd'], 'daemon'],
  [['a/b', 1, 1, 'm'], 'daemon'],
  [['a/b', 1, 1, 't'], 'leaving'],
  [['a/b', 1, 1, 'h'], 'held'],
])('draws the pod %j as %s', (pod, style) => {
  expect(styleOf(pod)).toBe(style)
})

it('draws all pods of a style as one path', () => {
  const placed = placePods(
    nodeWith([
      ['a/1', 1, 1],
      ['a/2', 1, 1],
      ['a/3', 1, 1, 'd'],
    ]),
    100,
    40,
  )
  expect(podPaths(placed).map(([style, path]) => [style, path.split('M').length - 1])).toEqual([
    ['work', 2],
    ['daemon', 1],
  ])
})
