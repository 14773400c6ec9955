import pc from 'picocolors'

export type Style = 'plain' | 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan' | 'inverse'

/** A piece of a line. */
export interface Cell {
  readonly text: string
  readonly style?: Style
  /** Whether its end says more than its beginning. */
  readonly isCutInFront?: true
}

/** Gives a text a style. */
export type Paint = (text: string, style: Style) => string

export const noPaint: Paint = (text) => text

/** Paints for a terminal; nothing where colours are not wanted (`NO_COLOR`). */
export function paintFor(isColored: boolean): Paint {
  const colors = pc.createColors(isColored)
  return (text, style) => (style === 'plain' ? text : colors[style](text))
}
