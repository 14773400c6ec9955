import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildView, claim, node, now, pod } from '../../../test/samples/sample-cluster.ts'
import { ClusterModel } from './cluster-model.ts'
import type { NodeView } from './cluster-view.ts'
import { type ClaimFact, claimFact, type NodeFact, nodeFact, type PodFact, podFact } from './facts.ts'

test('changes one by one lead to the same view as everything at once', () => {
  const names = ['a', 'b', 'c']
  const name = fc.constantFrom(...names)
  const vm = fc.constantFrom(undefined, 'azure:///1', 'azure:///2')
  const maybeNode = fc.constantFrom(undefined, ...names)
  const change = fc.oneof(
    fc.record({ kind: fc.constant('node' as const), name, vm, gone: fc.boolean() }),
    fc.record({ kind: fc.constant('claim' as const), name, vm, of: maybeNode, gone: fc.boolean() }),
    fc.record({ kind: fc.constant('pod' as const), name, of: maybeNode, gone: fc.boolean() }),
  )
  fc.assert(
    fc.property(fc.array(fc.record({ change, take: fc.boolean() }), { maxLength: 30 }), (steps) => {
      const model = new ClusterModel()
      const seen = new Map<string, NodeView>()
      const [nodes, claims, pods] = [
        new Map<string, NodeFact>(),
        new Map<string, ClaimFact>(),
        new Map<string, PodFact>(),
      ]
      const take = () => {
        const { nodes: changed, gone } = model.takeChange(now)
        for (const key of gone) seen.delete(key)
        for (const view of changed) seen.set(view.key, view)
      }
      for (const { change: step, take: now } of steps) {
        if (step.kind === 'node') {
          const fact = step.gone ? undefined : nodeFact(node(step.name, { providerID: step.vm ?? '' }))
          if (fact === undefined) nodes.delete(step.name)
          else nodes.set(step.name, fact)
          model.setNode(step.name, fact)
        } else if (step.kind === 'claim') {
          const fact = step.gone ? undefined : claimFact(claim(step.name, { providerID: step.vm, nodeName: step.of }))
          if (fact === undefined) claims.delete(step.name)
          else claims.set(step.name, fact)
          model.setClaim(step.name, fact)
        } else {
          const fact = step.gone ? undefined : podFact(pod(step.name, { nodeName: step.of }))
          const key = `shop/${step.name}`
          if (fact === undefined) pods.delete(key)
          else pods.set(key, fact)
          model.setPod(key, fact)
        }
        if (now) take()
      }
      take()
      const whole = buildView(
        { nodes: nodes.values(), claims: claims.values(), pods: pods.values(), nodePools: [] },
        now,
      )
      expect(model.view(now)).toEqual(whole)
      expect([...seen.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual(whole.nodes)
    }),
    { numRuns: 1000 },
  )
})
