// loopback.cjs - preloaded into foreign programs of tests: a server that would listen on every
// interface listens on 127.0.0.1. listen() with a host would look the name up first, and some
// servers read their address at once; so this changes what listen() itself calls.
'use strict'
const net = require('node:net')

const listen = net.Server.prototype._listen2
net.Server.prototype._listen2 = function (address, port, type, ...rest) {
    if (address || !(port >= 0)) return listen.call(this, address, port, type, ...rest)
    return listen.call(this, '127.0.0.1', port, 4, ...rest)
}
