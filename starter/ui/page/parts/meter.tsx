import { percent } from '../../../document/words.ts'

interface Props {
  readonly name: string
  readonly part: number
  readonly whole: number
  /** In words, such as `3.2 of 4 cores`. */
  readonly text?: string
}

/** A share as a bar and as a number. */
export function Meter({ name, part, whole, text }: Props) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0
  return (
    <div class="meter" title={text}>
      <span class="meter-name">{name}</span>
      <span class="meter-track" aria-hidden="true">
        <span class="meter-fill" data-full={share > 0.9} style={{ width: `${share * 100}%` }} />
      </span>
      <span class="meter-value">{percent(part, whole)}</span>
    </div>
  )
}
