// Stands before a server that speaks no TLS, and demands a certificate of its clients. Run as a process of its own:
// tls-proxy.ts --port N --to N --cert FILE --key FILE --client-ca FILE
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createServer } from 'node:tls'
import { parseArgs } from 'node:util'

const text = { type: 'string', default: '' } as const
const { values } = parseArgs({ options: { port: text, to: text, cert: text, key: text, 'client-ca': text } })

const server = createServer(
  {
    cert: readFileSync(values.cert),
    key: readFileSync(values.key),
    ca: readFileSync(values['client-ca']),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2'],
  },
  (client) => {
    const upstream = connect(Number(values.to), '127.0.0.1')
    client.setNoDelay(true)
    upstream.setNoDelay(true)
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.pipe(upstream).pipe(client)
  },
)
server.on('tlsClientError', (error) => console.log(new Date().toISOString(), error.message))
server.listen(Number(values.port), '127.0.0.1')
