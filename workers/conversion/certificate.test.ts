import { request } from 'node:https'
import { describe, expect, it } from 'vitest'
import { isDue, makeCertificate } from './certificate-secret.ts'
import { webhookLimits } from './limits.ts'
import { startConversionWebhook } from './webhook.ts'

const name = 'joiner-conversion.joiner.svc'
const day = 24 * 3_600_000

describe("the webhook's certificate", () => {
  it('is its own CA bundle to a client that checks the name', async () => {
    const certificate = await makeCertificate([name], new Date())
    const serving = { certificate, path: '/convert/secret' }
    const settings = { port: 0, serving, limits: webhookLimits }
    const webhook = await startConversionWebhook(settings, { answered() {}, refused() {} })
    const ask = (servername: string) =>
      new Promise((resolve, reject) => {
        const options = {
          host: '127.0.0.1',
          port: webhook.port,
          path: '/convert',
          ca: certificate.cert,
          servername,
          agent: false,
        }
        request({ ...options, headers: { host: servername } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
    try {
      expect(await ask(name)).toBe(404)
      await expect(ask('other.joiner.svc')).rejects.toThrow("does not match certificate's altnames")
    } finally {
      await webhook.close()
    }
  })

  it('is due before it begins, two months before it ends, for another name, and when it is spoilt', async () => {
    const now = new Date('2026-01-01T00:00:00Z')
    const { cert } = await makeCertificate([name], now)
    const after = (days: number) => new Date(now.getTime() + days * day)
    expect([-1, 0, 304, 306, 400].map((days) => isDue(cert, [name], after(days)))).toEqual([
      true,
      false,
      false,
      true,
      true,
    ])
    expect(isDue(cert, [name, 'other'], now)).toBe(true)
    expect(isDue('spoilt', [name], now)).toBe(true)
  })
})
