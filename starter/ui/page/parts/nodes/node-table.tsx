import type { Signal } from '@preact/signals'
import { ago, dollars, percent } from '../../../../document/words.ts'
import type { NodeView } from '../../../contract.ts'
import { now } from '../../state/clock.ts'
import { nodeLink } from '../../state/route.ts'
import { DataTable } from '../data-table.tsx'
import { PhaseBadge } from './phase.tsx'

interface Props {
  readonly nodes: readonly Signal<NodeView>[]
  readonly caption: string
}

/** The same nodes for who reads better than they look. */
export function NodeTable({ nodes, caption }: Props) {
  return (
    <DataTable
      caption={caption}
      columns={{
        Node: 'text',
        Phase: 'text',
        Size: 'text',
        Zone: 'text',
        Capacity: 'text',
        CPU: 'number',
        Memory: 'number',
        Pods: 'number',
        Price: 'number',
        Age: 'number',
        Note: 'text',
      }}
    >
      {nodes.map((node) => (
        <NodeRow key={node.peek().key} node={node} />
      ))}
    </DataTable>
  )
}

function NodeRow({ node }: { readonly node: Signal<NodeView> }) {
  const view = node.value
  return (
    <tr data-key={view.key}>
      <th scope="row">
        <a href={nodeLink(view.key)}>{view.node ?? view.key}</a>
      </th>
      <td>
        <PhaseBadge node={view} />
      </td>
      <td>{view.instanceType ?? '–'}</td>
      <td>{view.zone ?? '–'}</td>
      <td>{view.capacityType ?? '–'}</td>
      <td class="number">{percent(view.requested.cpu, view.allocatable.cpu)}</td>
      <td class="number">{percent(view.requested.memory, view.allocatable.memory)}</td>
      <td class="number">{view.pods.length}</td>
      <td class="number">{view.pricePerHour === undefined ? '–' : `${dollars(view.pricePerHour)}/h`}</td>
      <td class="number">{ago(Math.max(0, now.value - view.createdMs))}</td>
      <td>{view.note ?? ''}</td>
    </tr>
  )
}
