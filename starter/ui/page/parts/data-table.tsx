import type { ComponentChildren } from 'preact'

/** Titles, and how cells stand. */
export type Columns = Readonly<Record<string, 'text' | 'number'>>

interface Props {
  /** For who reads better than they look; absent: a heading beside it says the same. */
  readonly caption?: string
  readonly columns: Columns
  /** Rows. */
  readonly children: ComponentChildren
}

/** A table that scrolls sideways where it is too wide. */
export function DataTable({ caption, columns, children }: Props) {
  return (
    <div class="table-frame">
      <table>
        {caption !== undefined && <caption class="unseen">{caption}</caption>}
        <thead>
          <tr>
            {Object.entries(columns).map(([title, kind]) => (
              <th key={title} scope="col" {...(kind === 'number' && { class: 'number' })}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
