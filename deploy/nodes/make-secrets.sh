#!/bin/sh
# Makes the passwords of compose.yaml, once, in deploy/nodes/secrets (git ignores it). Prints none of them.
set -eu
cd "$(dirname "$0")"
if [ -e secrets ]; then
    echo "$(pwd)/secrets exists already; delete it for new passwords (and the volumes, which know the old ones)" >&2
    exit 1
fi
umask 077
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
redis=$(password) mongo=$(password) node=$(password)
mkdir secrets.new
cat > secrets.new/redis.conf <<END
bind * -::*
requirepass $redis
appendonly yes
maxmemory-policy noeviction
END
printf %s "$mongo" > secrets.new/mongo_password
cat > secrets.new/node.conf <<END
[scrapyd]
node_username = crawler
node_password = $node
END
cat > secrets.new/node.env <<END
REDIS_URL=redis://:$redis@redis:6379/0
MONGO_URI=mongodb://crawler:$mongo@mongo:27017/?authSource=admin
END
# For the supervisor, which reaches the nodes by their names in the network of the stack.
cat > secrets.new/operator.env <<END
NODE1_URL=http://node1:6800/
NODE1_USERNAME=crawler
NODE1_PASSWORD=$node
NODE2_URL=http://node2:6800/
NODE2_USERNAME=crawler
NODE2_PASSWORD=$node
END
# For a shell on this machine: `. deploy/nodes/secrets/host.env`.
cat > secrets.new/host.env <<END
export REDIS_URL=redis://:$redis@127.0.0.1:6379/0
export MONGO_URI='mongodb://crawler:$mongo@127.0.0.1:27017/?authSource=admin'
export NODE1_URL=http://127.0.0.1:6801/ NODE1_USERNAME=crawler NODE1_PASSWORD=$node
export NODE2_URL=http://127.0.0.1:6802/ NODE2_USERNAME=crawler NODE2_PASSWORD=$node
END
# In containers, servers run under users of their own, who must be able to read their secret; the folder keeps others out.
chmod 644 secrets.new/redis.conf secrets.new/mongo_password secrets.new/node.conf
mv secrets.new secrets
echo "made $(pwd)/secrets" >&2
