import { ago, counted } from '../../../document/words.ts'
import type { WaitingClass } from '../../contract.ts'
import { now } from '../state/clock.ts'
import { nodeLink } from '../state/route.ts'
import { Icon, type IconName } from './icon.tsx'

const states: Readonly<Record<WaitingClass['state'], readonly [IconName, string]>> = {
  planned: ['clock', 'A node is on its way'],
  unschedulable: ['alert', 'No node fits'],
  held: ['pause', 'Held'],
}

/** Pods that wait, one entry for those that are alike: why, and what helps. */
export function Pending({ classes }: { readonly classes: readonly WaitingClass[] }) {
  if (classes.length === 0) return null
  return (
    <section aria-labelledby="pending-title">
      <div class="section-head">
        <h2 id="pending-title">Pending pods</h2>
      </div>
      <ul class="pending">
        {classes.map((each, index) => (
          <li key={`${each.pods[0] ?? ''}${index}`} class="card" data-state={each.state}>
            <Waiting each={each} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Waiting({ each }: { readonly each: WaitingClass }) {
  const [icon, name] = states[each.state]
  const more = each.count - each.pods.length
  return (
    <>
      <p class="pending-head">
        <span class="badge" data-state={each.state}>
          <Icon name={icon} />
          {name}
        </span>
        <strong>{counted(each.count, 'pod')}</strong>
        {each.cause !== undefined && <span class="tag">{each.cause}</span>}
        <span class="quiet-text">for {ago(Math.max(0, now.value - each.sinceMs))}</span>
      </p>
      <p>{each.finding}</p>
      {each.plannedOn.length > 0 && (
        <p>
          {'Planned on '}
          {each.plannedOn.map((key, index) => (
            <span key={key}>
              {index > 0 && ', '}
              <a href={nodeLink(key)}>{key}</a>
            </span>
          ))}
        </p>
      )}
      {each.remedies.length > 0 && (
        <ul class="remedies" aria-label="What helps">
          {each.remedies.map((remedy) => (
            <li key={remedy}>{remedy}</li>
          ))}
        </ul>
      )}
      <details>
        <summary>Pods and NodePools</summary>
        <p class="names">
          {each.pods.join(', ')}
          {more > 0 && ` and ${more.toLocaleString('en-US')} more`}
        </p>
        {each.funnel.length > 0 && (
          <ul class="funnel">
            {each.funnel.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        )}
      </details>
    </>
  )
}
