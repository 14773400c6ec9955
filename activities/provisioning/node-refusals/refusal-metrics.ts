import { Gauge, type Registry } from 'prom-client'
import type { NodeRefusal } from '../../../core/node-refusals.ts'

/** Publishes the classes of pods whose nodes kube-scheduler refuses, each with the number of its pending pods. */
export function observeRefusals(
  refusals: () => readonly (NodeRefusal & { readonly pods: number })[],
  registry: Registry,
): Gauge {
  return new Gauge({
    name: 'joiner_node_refusals',
    help: 'Pending pods of classes that kube-scheduler does not bind to the nodes made for them, with what it says.',
    labelNames: ['pod', 'nodepool', 'message'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { pod, nodePool, message, pods } of refusals()) this.set({ pod, nodepool: nodePool, message }, pods)
    },
  })
}
