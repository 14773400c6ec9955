/** A piece of a line: words of our own, or a text that somebody else chose, such as a name. */
export type Inline = string | { readonly foreign: string }

/** `number`: it is aligned to the right. */
export type Cell = Inline | { readonly number: string }

export interface Table {
  readonly title: string
  readonly header: readonly string[]
  /** Each has as many cells as the header. */
  readonly rows: readonly (readonly Cell[])[]
}

export interface Section {
  readonly title: string
  readonly lines: readonly (readonly Inline[])[]
  readonly tables: readonly Table[]
}

/** A report before it is Markdown or HTML. */
export interface Document {
  readonly title: readonly Inline[]
  /** The most important lines. */
  readonly summary: readonly (readonly Inline[])[]
  readonly sections: readonly Section[]
}
