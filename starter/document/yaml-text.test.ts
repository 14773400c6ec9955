import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { yamlText } from './yaml-text.ts'

const words = ['y', 'N', 'on', 'Off', 'yes', 'No', 'true', 'null', '~', '', '<<', '- a', '# a']
const numbers = ['1:20', '012', '0o14', '0x1f', '1_000', '.5', '1e3', '.inf', '2026-11-28']

test.each([...words, ...numbers])(
  '%j is the same text to readers of YAML 1.1, such as kubectl and Helm, and of YAML 1.2',
  (text) => {
    const value = { metadata: { name: text, labels: { [text]: 'a' } }, list: [text] }
    for (const version of ['1.1', '1.2'] as const)
      expect(parse(yamlText(value), { version, merge: false, prettyErrors: false })).toEqual(value)
  },
)
