// A Node of a real kubelet beside the one that the simulator's kubelet registers for the same PUT.
import type { NodeObject } from '../../../deploy/local/azure/boot/node-object.ts'
import type { Node } from '../../../deploy/local/real-nodes/fleet.ts'

/** Why a Node of a real kubelet is another, by field. */
const explanations: Readonly<Record<string, string>> = {
  'taint node.cloudprovider.kubernetes.io/uninitialized':
    "until cloud-node-manager has been there, and the simulator's Nodes come after it",
  'taint node.kubernetes.io/not-ready': 'the API server gives it to each new Node',
  'label karpenter.sh/registered': "Joiner's, once it knows the Node",
  'label karpenter.sh/initialized': "Joiner's, once it knows the Node",
  'capacity ephemeral-storage': "the disk of this machine, not the PUT's",
  'allocatable ephemeral-storage': "the disk of this machine, not the PUT's",
  'nodeInfo bootID': 'drawn at each boot',
  'nodeInfo machineID': 'of the image, which the simulator has none of',
  'nodeInfo systemUUID': 'of the image, which the simulator has none of',
  'nodeInfo osImage': 'of the image, which is this machine',
  'nodeInfo kernelVersion': 'of the image, which is this machine',
  'nodeInfo containerRuntimeVersion': 'of the image, which is this machine',
}

export interface Difference {
  readonly field: string
  readonly joined: string
  readonly simulated: string
  /** Absent: nobody knows. */
  readonly why?: string
}

/** What differs. `registered`: the Node as its kubelet made it. `node`: after AKS has been there. */
export function differences(
  { registered, node }: { readonly registered: Node; readonly node: Node },
  simulated: NodeObject,
): readonly Difference[] {
  const status = simulated['status'] as Node['status']
  const real = { ...fieldsOf(node), ...taintsOf(registered.spec.taints) }
  const played = { ...fieldsOf({ ...simulated, status } as unknown as Node), ...taintsOf(simulated.spec.taints) }
  return [...new Set([...Object.keys(real), ...Object.keys(played)])]
    .toSorted()
    .filter((field) => real[field] !== played[field])
    .map((field) => {
      const why = explanations[field]
      const difference = { field, joined: real[field] ?? 'none', simulated: played[field] ?? 'none' }
      return why === undefined ? difference : { ...difference, why }
    })
}

type Fields = Readonly<Record<string, string>>

function fieldsOf({ metadata, spec, status }: Node): Fields {
  return {
    ...named('label', metadata.labels),
    ...named('capacity', status.capacity),
    ...named('allocatable', status.allocatable),
    ...named('nodeInfo', status.nodeInfo),
    'spec.providerID': spec.providerID ?? 'none',
  }
}

function taintsOf(taints: Node['spec']['taints'] = []): Fields {
  return Object.fromEntries(taints.map(({ key, value = '', effect }) => [`taint ${key}`, `${value}:${effect}`]))
}

function named(kind: string, fields: Fields = {}): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`${kind} ${name}`, value]))
}
