import { now } from '../state/clock.ts'
import { summary } from '../state/cluster.ts'
import { clockTime } from '../state/format.ts'
import { type Connection, connection } from '../state/stream.ts'

const names: Readonly<Record<Connection['kind'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
  ended: 'Ended',
}

/** Whether what the page shows is true now, as a dot and as a word. */
export function ConnectionState() {
  const state = connection.value
  const seen = summary.value?.atMs
  const since = seen === undefined ? '' : `Shown as of ${clockTime(seen)}.`
  const detail = state.kind === 'lost' || state.kind === 'ended' ? `${state.message} ${since}` : since
  return (
    <span class="connection" data-state={state.kind} title={now.value > 0 ? detail : ''}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{names[state.kind]}</span>
    </span>
  )
}
