import { session } from '../state/session.ts'
import { Icon } from './icon.tsx'

/** The workflow behind what is shown, where somebody said where Temporal's own page is. */
export function TemporalLink({ workflowId }: { readonly workflowId: string | undefined }) {
  const base = session.value?.temporalUi
  if (workflowId === undefined || base === undefined || !/^https?:\/\//.test(base)) return null
  return (
    <a class="outward" href={`${base}/${encodeURIComponent(workflowId)}`} target="_blank" rel="noreferrer">
      Workflow in Temporal
      <Icon name="out" />
    </a>
  )
}
