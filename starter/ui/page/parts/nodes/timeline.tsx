import { ago } from '../../../../document/words.ts'
import type { NodeDetails } from '../../../contract.ts'
import { now } from '../../state/clock.ts'
import { momentTime } from '../../state/format.ts'
import { PhaseIcon, phaseLook } from './phase.tsx'

type Step = NodeDetails['timeline'][number]

const lengthOf = ({ fromMs, toMs }: Step) => Math.max(0, (toMs ?? now.value) - fromMs)

/** A node's life: a bar for the eye, whose long phases are cut down, and a list with times. */
export function Timeline({ steps }: { readonly steps: readonly Step[] }) {
  if (steps.length === 0) return <p class="empty">Temporal knows nothing of its life.</p>
  return (
    <>
      <div class="life" aria-hidden="true">
        {steps.map((step) => (
          <span
            key={`${step.phase}${step.fromMs}`}
            {...phaseLook(step.phase)}
            data-lasts={step.toMs === undefined && step.phase !== 'Gone'}
            style={{ flexGrow: Math.max(1, Math.sqrt(lengthOf(step) / 1000)) }}
          />
        ))}
      </div>
      <ol class="steps">
        {steps.map((step) => (
          <li key={`${step.phase}${step.fromMs}`} {...phaseLook(step.phase)}>
            <span class="step-sign">
              <PhaseIcon phase={step.phase} />
            </span>
            <div>
              <p class="step-head">
                <strong>{step.phase}</strong>
                {step.phase !== 'Gone' && (
                  <span class="quiet-text number">
                    {ago(lengthOf(step))}
                    {step.toMs === undefined && ' so far'}
                  </span>
                )}
                <time class="quiet-text number" dateTime={new Date(step.fromMs).toISOString()}>
                  {momentTime(step.fromMs)}
                </time>
              </p>
              <p>{step.text}</p>
            </div>
          </li>
        ))}
      </ol>
    </>
  )
}
