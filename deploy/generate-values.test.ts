import { expect, test } from 'vitest'
import { valuesPage } from './generate-values.ts'

const schema = (properties: object) =>
  JSON.stringify({ properties, definitions: { duration: { type: 'string' }, count: { type: 'integer', minimum: 1 } } })

/** Cells of the rows of a page, but for the head of the table. */
const rowsOf = (page: string) =>
  page
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

test('a value that nothing is said about, and one that the schema does not have, are errors', () => {
  const page = () => valuesPage(schema({ silent: { type: 'string' } }), '# Something.\nunknown: 1\nsilent: ""\n')
  expect(page).toThrow('values.yaml has no comment for silent, nor has the schema a description')
  expect(page).toThrow('unknown of values.yaml is not in the schema')
})
