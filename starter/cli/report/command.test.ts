import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { installedWorld } from '../../../test/temporal-states/installed-world.ts'
import { registerReport } from './command.ts'
import type { ReportOptions } from './run.ts'

/** Reads options as the command line does. Errors: Commander's, with the message for the user. */
function read(...words: readonly string[]): ReportOptions {
  const command = new Command('report')
  registerReport(command)
  command.exitOverride().configureOutput({ writeErr: () => undefined })
  command.parseOptions([...words])
  return command.opts<ReportOptions>()
}

test('a report is of 7 days, in Markdown, on standard output, without Prometheus', () => {
  const { since, output, outputFile, prometheus, prometheusMatch } = read()
  expect([output, outputFile, prometheus, prometheusMatch]).toEqual(['markdown', undefined, undefined, {}])
  expect(Math.abs(Date.now() - 7 * 86_400_000 - since)).toBeLessThan(60_000)
})

describe('--prometheus', () => {
  test.each(['http://127.0.0.1:9090', 'https://metrics.example/prefix/'])('is an address such as %s', (text) => {
    expect(read('--prometheus', text).prometheus?.href).toMatch(text)
  })

  test.each<[string, RegExp]>([
    ['127.0.0.1:9090', /Write an address such as http/],
    ['file:///etc/passwd', /Write an address such as http/],
    ['', /Write an address such as http/],
    ['http://me:secret@127.0.0.1:9090', /cannot log in; .*port-forward/],
  ])('is not %s', (text, message) => {
    expect(() => read('--prometheus', text)).toThrow(message)
  })
})

describe('--prometheus-match', () => {
  test('can be repeated, and values may contain anything', () => {
    const { prometheusMatch } = read('--prometheus-match', 'cluster=prod', '--prometheus-match', 'a_1=x=y "z"\n')
    expect(prometheusMatch).toEqual({ cluster: 'prod', a_1: 'x=y "z"\n' })
  })

  test.each(['cluster', 'cluster=', '=prod', 'a-b=c', '1a=b', 'a}=b'])('is not %j', (text) => {
    expect(() => read('--prometheus-match', text)).toThrow(/a label and its value, such as cluster=prod/)
  })
})

test('a file that cannot be written is named, and Temporal is not to blame', async () => {
  const { joiner } = await installedWorld()
  expect(await joiner('history', 'report', '--output-file', '/nonexistent/x.md')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^--output-file \/nonexistent\/x\.md: cannot be written: ENOENT/) as string,
  })
})

test.each(['yaml', 'table', 'pdf'])('-o %s is refused', (format) => {
  expect(() => read('-o', format)).toThrow(/Allowed choices are markdown, html, json/)
})
