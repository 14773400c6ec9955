import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { isDeleting, isReady, specOf, type TaintJson } from './seen.ts'

/** How often the cloud is asked about Nodes that are not Ready. */
const everyMs = 5000

const shutdown = 'node.cloudprovider.kubernetes.io/shutdown'

/** What the cloud says of the VM of a provider id; undefined: there is none. */
export type CloudVm = { readonly isStopped: boolean } | undefined

/**
 * The node lifecycle controller of cloud-controller-manager, which AKS runs and the local cluster does not: of Nodes that are not Ready it deletes those
 * whose VM is gone, and taints those whose VM stands still.
 */
export function cloudNodes(server: ApiServer, vmOf: (providerId: string) => CloudVm): Controller {
  return {
    watches: ['nodes'],
    afterMs: everyMs,
    reconcile: () => {
      const silent = server.objects.of('nodes').filter((node) => !isReady(node) && !isDeleting(node))
      for (const node of silent) {
        const { providerID, taints = [] } = specOf(node) as NodeSpec
        const path = pathOf('nodes', metaOf(node).name)
        const vm = providerID === undefined ? undefined : vmOf(providerID)
        if (providerID === undefined) continue
        if (vm === undefined) server.delete(path)
        else if (vm.isStopped && !taints.some(({ key }) => key === shutdown))
          setTaints(server, path, [...taints, { key: shutdown, effect: 'NoSchedule' }])
      }
      for (const node of server.objects.of('nodes').filter(isReady)) {
        const { taints = [] } = specOf(node) as NodeSpec
        const kept = taints.filter(({ key }) => key !== shutdown)
        if (kept.length < taints.length) setTaints(server, pathOf('nodes', metaOf(node).name), kept)
      }
      return silent.length === 0 ? undefined : Date.now() + everyMs
    },
  }
}

interface NodeSpec {
  readonly providerID?: string
  readonly taints?: readonly TaintJson[]
}

function setTaints(server: ApiServer, path: string, taints: readonly TaintJson[]): void {
  server.change(path, undefined, ({ spec, ...object }) => ({ ...object, spec: { ...(spec as NodeSpec), taints } }))
}
