import type { ComponentChildren } from 'preact'

/** A column: its title, what it says of a row, and how its cells look. */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => ComponentChildren,
  look?: 'number' | 'free' | 'number share',
]

interface Props<Row> {
  /** For who reads better than they look; absent: a heading beside it says the same. */
  readonly caption?: string
  /** The first one names its row. */
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row, index: number) => string
}

/** A table that scrolls sideways where it is too wide. */
export function DataTable<Row>({ caption, columns, rows, keyOf }: Props<Row>) {
  return (
    <div class="table-frame">
      <table>
        {caption !== undefined && <caption class="unseen">{caption}</caption>}
        <thead>
          <tr>
            {columns.map(([title, , look = '']) => (
              <th key={title} scope="col" class={look.startsWith('number') ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <DataRow key={keyOf(row, index)} name={keyOf(row, index)} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A row is drawn again when a signal changes that one of its cells reads, and no other is. */
function DataRow<Row>({
  name,
  row,
  columns,
}: Pick<Props<Row>, 'columns'> & { readonly name: string; readonly row: Row }) {
  return (
    <tr data-key={name}>
      {columns.map(([title, cell, look], at) =>
        at === 0 ? (
          <th key={title} scope="row" class={look}>
            {cell(row)}
          </th>
        ) : (
          <td key={title} class={look}>
            {cell(row)}
          </td>
        ),
      )}
    </tr>
  )
}

interface TitledProps<Row> extends Omit<Props<Row>, 'caption'> {
  readonly title: string
  /** What is said where there are no rows. */
  readonly none: string
}

/** A table under a heading, or why there is none. */
export function TitledTable<Row>({ title, none, ...table }: TitledProps<Row>) {
  const id = `${title.toLowerCase().replaceAll(' ', '-')}-title`
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {table.rows.length === 0 ? <p class="empty">{none}</p> : <DataTable {...table} />}
    </section>
  )
}
