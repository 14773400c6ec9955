import { ago } from '../../../../document/words.ts'
import type { KubernetesEvent, NodeDetails, NodeView } from '../../../contract.ts'
import { now } from '../../state/clock.ts'
import { bytes, cores } from '../../state/format.ts'

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
    <section aria-labelledby="conditions-title">
      <h2 id="conditions-title">Conditions</h2>
      {conditions.length === 0 ? (
        <p class="empty">It has none.</p>
      ) : (
        <div class="table-frame">
          <table>
            <thead>
              <tr>
                <th scope="col">Condition</th>
                <th scope="col">Of</th>
                <th scope="col">Status</th>
                <th scope="col">Reason</th>
                <th scope="col">Message</th>
                <th scope="col" class="number">
                  Since
                </th>
              </tr>
            </thead>
            <tbody>
              {conditions.map(({ of, type, status, reason, message, sinceMs }) => (
                <tr key={`${of}${type}`}>
                  <th scope="row">{type}</th>
                  <td>{of}</td>
                  <td>{status}</td>
                  <td>{reason}</td>
                  <td class="free">{message}</td>
                  <td class="number">{age(sinceMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Events({ events }: { readonly events: readonly KubernetesEvent[] }) {
  return (
    <section aria-labelledby="events-title">
      <h2 id="events-title">Events</h2>
      {events.length === 0 ? (
        <p class="empty">Kubernetes keeps none of it, or no longer: it forgets them after an hour.</p>
      ) : (
        <div class="table-frame">
          <table>
            <thead>
              <tr>
                <th scope="col">Reason</th>
                <th scope="col">About</th>
                <th scope="col">Message</th>
                <th scope="col" class="number">
                  Times
                </th>
                <th scope="col" class="number">
                  Ago
                </th>
              </tr>
            </thead>
            <tbody>
              {events.map(({ atMs, reason, about, message, times }, index) => (
                <tr key={`${atMs}${reason}${index}`}>
                  <th scope="row">{reason}</th>
                  <td>{about}</td>
                  <td class="free">{message}</td>
                  <td class="number">{times}</td>
                  <td class="number">{age(atMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Pods({ pods }: { readonly pods: readonly Pod[] }) {
  return (
    <section aria-labelledby="pods-title">
      <h2 id="pods-title">Pods</h2>
      {pods.length === 0 ? (
        <p class="empty">It has none.</p>
      ) : (
        <div class="table-frame">
          <table>
            <thead>
              <tr>
                <th scope="col">Pod</th>
                <th scope="col" class="number">
                  CPU
                </th>
                <th scope="col" class="number">
                  Memory
                </th>
                <th scope="col">Kind</th>
              </tr>
            </thead>
            <tbody>
              {pods.map(([name, cpu, memory, mark], index) => (
                <tr key={`${name}${index}`}>
                  <th scope="row" class="free">
                    {name}
                  </th>
                  <td class="number">{cores(cpu)}</td>
                  <td class="number">{bytes(memory)}</td>
                  <td>{mark === undefined ? 'workload' : marks[mark]}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

const age = (sinceMs: number) => ago(Math.max(0, now.value - sinceMs))
