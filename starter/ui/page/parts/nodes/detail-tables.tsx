import type { ComponentChildren } from 'preact'
import { ago } from '../../../../document/words.ts'
import type { KubernetesEvent, NodeDetails, NodeView } from '../../../contract.ts'
import { now } from '../../state/clock.ts'
import { bytes, cores } from '../../state/format.ts'
import { type Columns, DataTable } from '../data-table.tsx'

type Pod = NodeView['pods'][number]

const marks: Readonly<Record<NonNullable<Pod[3]>, string>> = {
  d: 'DaemonSet',
  m: 'static',
  t: 'terminates',
  h: 'do-not-disrupt',
}

interface Props {
  readonly details: NodeDetails
  readonly pods: readonly Pod[]
}

/** Conditions, events and pods of a node. */
export function DetailTables({ details, pods }: Props) {
  return (
    <>
      <Conditions conditions={details.conditions} />
      <Events events={details.events} />
      <Pods pods={pods} />
    </>
  )
}

function Conditions({ conditions }: Pick<NodeDetails, 'conditions'>) {
  return (
    <TitledTable
      title="Conditions"
      none="It has none."
      columns={{ Condition: 'text', Of: 'text', Status: 'text', Reason: 'text', Message: 'text', Since: 'number' }}
      rows={conditions.map(({ of, type, status, reason, message, sinceMs }) => (
        <tr key={`${of}${type}`}>
          <th scope="row">{type}</th>
          <td>{of}</td>
          <td>{status}</td>
          <td>{reason}</td>
          <td class="free">{message}</td>
          <td class="number">{age(sinceMs)}</td>
        </tr>
      ))}
    />
  )
}

function Events({ events }: { readonly events: readonly KubernetesEvent[] }) {
  return (
    <TitledTable
      title="Events"
      none="Kubernetes keeps none of it, or no longer: it forgets them after an hour."
      columns={{ Reason: 'text', About: 'text', Message: 'text', Times: 'number', Ago: 'number' }}
      rows={events.map(({ atMs, reason, about, message, times }, index) => (
        <tr key={`${atMs}${reason}${index}`}>
          <th scope="row">{reason}</th>
          <td>{about}</td>
          <td class="free">{message}</td>
          <td class="number">{times}</td>
          <td class="number">{age(atMs)}</td>
        </tr>
      ))}
    />
  )
}

function Pods({ pods }: { readonly pods: readonly Pod[] }) {
  return (
    <TitledTable
      title="Pods"
      none="It has none."
      columns={{ Pod: 'text', CPU: 'number', Memory: 'number', Kind: 'text' }}
      rows={pods.map(([name, cpu, memory, mark], index) => (
        <tr key={`${name}${index}`}>
          <th scope="row" class="free">
            {name}
          </th>
          <td class="number">{cores(cpu)}</td>
          <td class="number">{bytes(memory)}</td>
          <td>{mark === undefined ? 'workload' : marks[mark]}</td>
        </tr>
      ))}
    />
  )
}

interface TitledProps {
  readonly title: string
  /** What is said where there are no rows. */
  readonly none: string
  readonly columns: Columns
  readonly rows: readonly ComponentChildren[]
}

function TitledTable({ title, none, columns, rows }: TitledProps) {
  const id = `${title.toLowerCase()}-title`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {rows.length === 0 ? <p class="empty">{none}</p> : <DataTable columns={columns}>{rows}</DataTable>}
    </section>
  )
}

const age = (sinceMs: number) => ago(Math.max(0, now.value - sinceMs))
