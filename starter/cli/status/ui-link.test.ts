import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { plainText } from '../../document/text.ts'
import { temporalUiOption, uiList, uiListPart } from './command.ts'

const access = { namespace: 'joiner.a1b2', cluster: "o'neil" }
const query =
  "TaskQueue = 'joiner-core-o''neil' AND WorkflowType IN ('nodeClaimLifecycle', 'disruptionCommand', 'disruptionPass', 'provisioningLoop', 'disruptionLoop')"

test('without an address the query is told', () => {
  expect(uiList(access)).toEqual({ query })
  expect(uiList(access, '')).toEqual({ query })
  expect(plainText([[uiListPart({ query })]])).toContain(query)
})

test('with an address the query is a link', () => {
  const { url = '' } = uiList(access, 'https://temporal.example.com')
  expect(new URL(url).pathname).toBe('/namespaces/joiner.a1b2/workflows')
  expect(new URL(url).searchParams.get('query')).toBe(query)
  expect(plainText([[uiListPart({ query, url })]])).toContain(url)
})

describe('the address', () => {
  const parsed = (address: string) => {
    const command = new Command()
      .addOption(temporalUiOption())
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
    command.parse([`--temporal-ui=${address}`], { from: 'user' })
    return command.opts<{ temporalUi: string }>().temporalUi
  }

  test.each([
    ['https://temporal.example.com/', 'https://temporal.example.com'],
    ['http://localhost:8233', 'http://localhost:8233'],
    ['https://example.com/temporal/', 'https://example.com/temporal'],
    ['', ''],
  ])('%j is taken', (address, expected) => {
    expect(parsed(address)).toBe(expected)
  })

  test.each(['temporal:8233', 'javascript:alert(1)', 'https://x/?q=1', 'https://x/#y', 'no'])(
    '%j is refused',
    (address) => {
      expect(() => parsed(address)).toThrow('such as https://temporal.example.com')
    },
  )
})
