import { expect, test } from 'vitest'
import { valuesPage } from './generate-values.ts'
import { usageTable } from './measured-usage.ts'

const schema = (properties: object) =>
  JSON.stringify({ properties, definitions: { duration: { type: 'string' }, count: { type: 'integer', minimum: 1 } } })

/** Cells of the rows of the last table of a page, but for its head. */
const rowsOf = (page: string) =>
  page
    .slice(page.lastIndexOf('\n\n'))
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) =>
      line
        .split(' | ')
        .map((cell) => cell.replace(/^\| | \|$/g, '').trim())
        .join('; '),
    )

test('a value has its form from the schema, its default and what it is from values.yaml, in the order of that file', () => {
  const page = valuesPage(
    schema({
      later: { description: 'Only in the schema.', type: 'boolean' },
      part: { type: 'object', properties: { wait: { $ref: '#/definitions/duration' }, more: { enum: ['', 'a'] } } },
      first: { oneOf: [{ $ref: '#/definitions/count' }, { type: 'string' }] },
    }),
    '# How many,\n# or a share.\nfirst: 2\n\n# Of a part.\n#\n# How long it waits.\npart:\n  wait: 1s\n  # What | it is.\n  more: ""\n',
  )
  expect(rowsOf(page)).toEqual([
    '`first`; integer, at least 1 or text; `2`; How many, or a share.',
    '`part.wait`; text; `"1s"`; How long it waits.',
    '`part.more`; `""`, `"a"`; `""`; What \\| it is.',
    '`later`; true or false; ; Only in the schema.',
  ])
})

test('a value stands in the section of its first word, the others in the last one', () => {
  const page = valuesPage(
    schema({ other: { type: 'string' }, temporal: { type: 'object', properties: { address: { type: 'string' } } } }),
    '# Something.\nother: ""\n# A server.\ntemporal:\n  # Where it is.\n  address: ""\n',
  )
  const [, temporal = '', last = ''] = page.split(/^## (?:Temporal|Pods and names)$/m)
  expect([rowsOf(`\n\n${temporal.trim()}`), rowsOf(`\n\n${last.trim()}`)]).toEqual([
    ['`temporal.address`; text; `""`; Where it is.'],
    ['`other`; text; `""`; Something.'],
  ])
})

test('a value that nothing is said about, and one that the schema does not have, are errors', () => {
  const page = () => valuesPage(schema({ silent: { type: 'string' } }), '# Something.\nunknown: 1\nsilent: ""\n')
  expect(page).toThrow('values.yaml has no comment for silent, nor has the schema a description')
  expect(page).toThrow('unknown of values.yaml is not in the schema')
})

test('what was measured has a row for each process, and empty cells for what was not', () => {
  const table = usageTable([
    {
      bench: 'sizes',
      date: '2026-01-02',
      commit: '0123abc',
      rows: [
        ['profile single', 200, 4000, 1300, 20, 500],
        ['joiner', 5, 5, undefined, undefined, 1200, 300],
      ],
    },
  ])
  expect(rowsOf(`\n\n${table}`)).toEqual([
    'all (`profile: single`); 200; 4,000; 1,300m; 20m; 500 MiB; ; `sizes`, 2026-01-02, commit 0123abc',
    '`core`, `bridge`; 5; 5; ; ; 1,200 MiB; 300 MiB; `sizes`, 2026-01-02, commit 0123abc',
  ])
})
