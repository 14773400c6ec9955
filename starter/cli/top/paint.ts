import pc from 'picocolors'

export type Style = 'plain' | 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan' | 'inverse'

/** A piece of a line; its text is printable. */
export interface Cell {
  readonly text: string
  readonly style?: Style
  /** Whether its end tells more than its beginning. */
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

/** Returns a text of at most so many characters. */
export function cut({ text, isCutInFront }: Cell, width: number): string {
  if (text.length <= width) return text
  if (width <= 0) return ''
  return isCutInFront ? `…${text.slice(text.length - width + 1)}` : `${text.slice(0, width - 1)}…`
}
