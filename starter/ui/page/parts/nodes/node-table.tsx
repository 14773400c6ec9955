import type { Signal } from '@preact/signals'
import { ago, dollars, percent } from '../../../../document/words.ts'
import type { NodeView } from '../../../contract.ts'
import { now } from '../../state/clock.ts'
import { nodeLink } from '../../state/route.ts'
import { PhaseBadge } from './phase.tsx'

interface Props {
  readonly nodes: readonly Signal<NodeView>[]
  readonly caption: string
}

/** The same nodes for who reads better than they look. */
export function NodeTable({ nodes, caption }: Props) {
  return (
    <div class="table-frame">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Phase</th>
            <th scope="col">Size</th>
            <th scope="col">Zone</th>
            <th scope="col">Capacity</th>
            <th scope="col" class="number">
              CPU
            </th>
            <th scope="col" class="number">
              Memory
            </th>
            <th scope="col" class="number">
              Pods
            </th>
            <th scope="col" class="number">
              Price
            </th>
            <th scope="col" class="number">
              Age
            </th>
            <th scope="col">Note</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <NodeRow key={node.peek().key} node={node} />
          ))}
        </tbody>
      </table>
    </div>
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
