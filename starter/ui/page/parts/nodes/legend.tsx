import type { PodStyle } from './pod-layout.ts'

const kinds: readonly (readonly [PodStyle, string])[] = [
  ['work', 'Pod'],
  ['daemon', 'DaemonSet or static pod'],
  ['held', 'Pod with do-not-disrupt'],
  ['leaving', 'Pod that terminates'],
]

/** What the boxes within a node mean. */
export function Legend() {
  return (
    <ul class="legend" aria-label="Meaning of the boxes">
      {kinds.map(([style, name]) => (
        <li key={style}>
          <svg class="pods" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
            <path class={style} d="M1.5 1.5h11v11h-11z" />
          </svg>
          {name}
        </li>
      ))}
      <li>The area is the larger share of CPU or memory; what is empty is free.</li>
    </ul>
  )
}
